"""YAML as every file and option here is read: with the numbers of YAML 1.2, no key twice, and one error for whatever is wrong."""

import re
from typing import Any

import yaml


def read_yaml(text: str) -> Any:
    """The value of a YAML text; ``ValueError`` says in one line what is wrong with it, and where."""
    try:
        return yaml.load(text, _Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{where}{getattr(error, 'problem', None) or 'not YAML'}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        # PyYAML's own constructors fail so on a 31st of February, or a text tagged as a number.
        raise ValueError(f"not YAML: {error}") from None


class _Loader(yaml.SafeLoader):
    """YAML 1.2 numbers: PyYAML alone reads ``7e-4`` as text. A key that stands twice is an error."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if isinstance(name, (list, dict)):
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} is no single value", key.start_mark)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} stands twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {k: list(v) for k, v in yaml.SafeLoader.yaml_implicit_resolvers.items()}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"),
    list("-+0123456789"),
)
