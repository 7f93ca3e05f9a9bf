# Files that real programs write into storage, and read from there.
rule all:
    input: "result.txt"

rule squares:
    output: "squares.txt"
    shell: "for i in 1 2 3 4; do echo $((i * i)); done > {output}"

rule cubes:
    output: "cubes.txt"
    shell: "for i in 1 2 3 4; do echo $((i * i * i)); done > {output}"

rule result:
    input: "squares.txt", "cubes.txt"
    output: "result.txt"
    shell: "cat {input} | awk '{{sum += $1}} END {{print sum}}' > {output}"
