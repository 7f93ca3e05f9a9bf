"""Strategies that make small scripts of the POSIX shell, in which every loop ends."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = st.sampled_from(
    [
        *(
            "a",
            "b",
            "c.txt",
            "a.txt",
            "x y",
            "12",
            "0",
            "-1",
            "*",
            "?.txt",
            "[ab]*",
            "d",
            "d/e",
            "",
            "%s",
            "a:b:c",
            "  p  q ",
        ),
        *(
            "$x",
            "$y",
            "${x}z",
            "$1",
            "$#",
            "$?",
            "$NOPE",
            "$A",
            "${x:-d e}",
            "${y:=new}",
            "${x:+set}",
            "${#x}",
            "${x%b*}",
        ),
        *(
            "${x##*a}",
            "${NOPE-none}",
            "$*",
            "$@",
            "$((x + 1))",
            "$((2 * 3 - y))",
            "${x%%[0-9]*}",
            "${A#a}",
            "`echo $x`",
        ),
        *("$(echo a b)", "$(echo '*')", "$(cat c.txt)", "$(false)", "$(wc -l < c.txt)", "\\$x", "~", "a\\ b", "x=1"),
    ]
)


def _quoted(parts):
    word, style = parts
    if style == "'" and "'" not in word:
        return f"'{word}'"
    if style == '"':
        return f'"{word}"'
    return word if not word or set(word) & set("$`\\") else word.replace(" ", "\\ ")


QUOTED = st.tuples(WORDS, st.sampled_from(["", "", '"', "'"])).map(_quoted)
NAMES = st.sampled_from(["x", "y", "i", "A"])
FILES = st.sampled_from(["a.txt", "c.txt", "d/f", "$x.log", "/dev/null"])
TESTS = st.one_of(
    st.builds("[ {} = {} ]".format, QUOTED, QUOTED),
    st.builds(
        '[ "{}" {} {} ]'.format,
        st.sampled_from(["$x", "1", "$#", "2"]),
        st.sampled_from(["-eq", "-lt", "-ge"]),
        st.sampled_from(["1", "2", "0"]),
    ),
    st.builds("test {} {}".format, st.sampled_from(["-f", "-d", "-e", "-s", "-n", "-z", "! -f"]), QUOTED),
    st.builds("grep -q {} c.txt".format, st.sampled_from(["a", "'^b'", "'[0-9]$'", "-v a", "-E 'a|b+'"])),
    st.sampled_from(["true", "false", "! true", "(exit 2)", ":"]),
)
FILTERS = st.sampled_from(
    [
        *(
            "cat",
            "sort",
            "sort -r",
            "sort -n",
            "uniq -c",
            "wc -l",
            "head -n 1",
            "tail -n 1",
            "tail -n +2",
            "grep -v a",
            "tr a-z A-Z",
        ),
        *(
            "cut -c1-2",
            "cut -d: -f2",
            "tee d/t",
            'while read l; do echo "<$l>"; done',
            '{ read p q; echo "$q-$p"; }',
            "tr -d ab",
        ),
        *("grep -c .", "sort -u", "paste_nothing=1 cat"),
    ]
)
PLAIN = st.one_of(
    st.lists(QUOTED, max_size=3).map(lambda words: " ".join(["echo", *words])),
    st.builds(
        "printf {} {}".format,
        st.sampled_from(["'%s\\n'", "'[%s]'", "'%5s|'", "'%d\\n'"]),
        st.sampled_from(["a", "1", '"$x"', "2 3", '"$@"']),
    ),
    st.builds("{}={}".format, NAMES, QUOTED),
    st.builds("{}={} {}".format, NAMES, QUOTED, st.sampled_from(["true", ":", "echo hi", "f 1", "sh -c 'echo $x$y'"])),
    st.builds("export {}={}".format, NAMES, QUOTED.filter(lambda word: not word.startswith("-"))),
    st.builds("echo {} > {}".format, QUOTED, FILES),
    st.builds("echo {} >> {}".format, QUOTED, FILES),
    st.builds("set -- {} {}".format, QUOTED, QUOTED),
    st.sampled_from(
        [
            *(
                "mkdir -p d",
                "cat c.txt",
                "rm -f a.txt",
                "cat nofile",
                "ls",
                "touch a.txt b.txt",
                "f a b",
                "f",
                "shift",
                "unset x",
            ),
            *(
                "cd d",
                "cd ..",
                "x=$((x+1))",
                "seq 2",
                "wc c.txt",
                "printf 'b 2\\na 1\\n' > c.txt",
                "exit 3",
                "cp c.txt d",
            ),
            *(
                "mv a.txt m",
                "set -e",
                "set -u",
                "set +e",
                "return 4",
                "break",
                "continue",
                "false",
                "trap 'echo bye' EXIT",
                "read z < c.txt; echo $z",
            ),
            *(
                "IFS=:",
                "eval 'echo $x'",
                "echo err >&2",
                'cat <<E\n$x "$y" \\$x $(echo in)\nE\n:',
                "cat <<'E'\n$x\nE\n:",
                "unset IFS",
                "set -f",
            ),
        ]
    ),
    TESTS,
)


def _counter(inner):
    """Return a variable that no loop inside uses, so that the loop ends."""
    return f"n{inner.count('while [') + inner.count('until [')}"


def _while(inner):
    name = _counter(inner)
    return f"{name}=3; while [ ${name} -gt 0 ]; do {name}=$(({name}-1)); {inner}; done"


def _until(inner):
    name = _counter(inner)
    return f"{name}=0; until [ ${name} -ge 2 ]; do {name}=$(({name}+1)); {inner}; done"


def _compound(inner):
    return st.one_of(
        st.builds("if {}; then {}; fi".format, inner, inner),
        st.builds("if {}; then {}; else {}; fi".format, TESTS, inner, inner),
        st.builds("if {}; then {}; elif {}; then {}; fi".format, TESTS, inner, TESTS, inner),
        st.builds("for i in {} {}; do {}; done".format, QUOTED, QUOTED, inner),
        st.builds("for i do {}; done".format, inner),
        inner.map(_while),
        inner.map(_until),
        st.builds("case {} in a*) {};; [0-9]|'x y') {};; *) {};; esac".format, QUOTED, inner, inner, inner),
        st.builds("( {} )".format, inner),
        st.builds("{{ {}; }}".format, inner),
        st.builds("{{ {}; }} > g.txt".format, inner),
        st.builds("{} | {}".format, inner, FILTERS),
        st.builds("{} && {}".format, inner, inner),
        st.builds("{} || {}".format, inner, inner),
        st.builds("! {}".format, inner.filter(lambda text: text[:1] not in "!n")),
        st.builds("{}; {}".format, inner, inner),
        st.builds("{}\n{}".format, inner, inner),
        st.builds("x=$({})".format, inner),
        st.builds('echo "$({})"'.format, inner),
        st.builds("g() {{ {}; }}; g {}".format, inner.filter(lambda text: "g()" not in text), QUOTED),
        st.builds("{} 2> /dev/null".format, inner),
    )


SCRIPTS = st.recursive(PLAIN, _compound, max_leaves=6).map(
    lambda text: (
        "f() { echo f:$1:$#; }; x=ab y=2; printf 'ab\\nb:c:3\\n' > c.txt; " + text + "\necho end $? $x $y $# $i"
    )
)
