"""Players. An agent sees views, masks and observations, never the referee's record."""

from ..envs.core.agent import Agent, RandomAgent, Turns, show_turns
from .human import HumanAgent
from .registry import agent_names, default_agent, make_agent, named_agents, split_specs
from .rule_agent import RuleAgent
from .rules import register_rules
from .search import Budget, FlatSearch, SearchAgent, SearchStats, TreeSearch
from .value_agent import ValueAgent

__all__ = [
    "Agent",
    "Budget",
    "FlatSearch",
    "HumanAgent",
    "RandomAgent",
    "RuleAgent",
    "SearchAgent",
    "SearchStats",
    "TreeSearch",
    "Turns",
    "ValueAgent",
    "agent_names",
    "default_agent",
    "make_agent",
    "named_agents",
    "register_rules",
    "show_turns",
    "split_specs",
]
