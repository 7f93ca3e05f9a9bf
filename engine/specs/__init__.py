"""The REST bodies of the service: frozen models with its names, types and defaults.

The metaclass of occasional bodies is here, see ``base.Occasional``.
"""

from abc import ABCMeta
from threading import RLock
from typing import Any

from pydantic._internal._model_construction import ModelMetaclass  # has no public name

from engine.base.values import words

_LOCK = RLock()
_EXISTING = "__existing__"
_READ_FIRST = [f"__pydantic_{name}__" for name in words("fields decorators validator serializer core_schema")]


class _Adopted(ABCMeta):
    """The metaclass below that of pydantic, which here may be given a class that exists instead of creating one."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **arguments: Any) -> Any:  # noqa: ANN401
        """Return the existing class, with what pydantic has added to its namespace; else create one."""
        if _EXISTING not in namespace:
            return super().__new__(mcs, name, bases, namespace, **arguments)
        (existing,) = namespace.pop(_EXISTING)
        for added in namespace.keys() - vars(existing).keys() | {"model_config"}:
            setattr(existing, added, namespace[added])
        return existing


class _Unprepared:
    """An attribute that pydantic gives to a class. Reading it lets pydantic prepare the class."""

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, _: object, owner: "PreparedLater") -> Any:  # noqa: ANN401
        with _LOCK:
            if vars(owner).get(self._name) is self:  # no other thread was faster
                owner.prepare()
        return getattr(owner, self._name)


class PreparedLater(ModelMetaclass, _Adopted):
    """The metaclass of occasional bodies: pydantic collects the fields of a class when it is first used.

    Few of the 140 classes are used in a run, and preparing them all would take a sixth of its start.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **arguments: Any) -> Any:  # noqa: ANN401
        """Create the class without pydantic, unless it is the first of its kind."""
        if not any(isinstance(base, mcs) for base in bases):
            return super().__new__(mcs, name, bases, namespace, **arguments)
        kept = {each: value for each, value in namespace.items() if each != "__classcell__"}
        namespace |= {"__kept__": kept} | {each: _Unprepared() for each in _READ_FIRST}
        return _Adopted.__new__(mcs, name, bases, namespace, **arguments)

    def prepare(cls: Any) -> None:
        """Let pydantic prepare the class, after its bases."""
        for base in cls.__bases__:
            getattr(base, "__pydantic_fields__", None)
        del cls.__pydantic_fields__, cls.__pydantic_decorators__
        namespace = {**cls.__kept__, _EXISTING: (cls,)}
        # Names in annotations are those of the module, and never those of the function that is running.
        ModelMetaclass.__new__(
            type(cls), cls.__name__, cls.__bases__, namespace, __pydantic_reset_parent_namespace__=False
        )
