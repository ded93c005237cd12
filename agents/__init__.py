"""Players. An agent sees views, masks and observations, never the referee's record."""

from ..envs.core.agent import Agent, RandomAgent, Turns, show_turns
from .human import HumanAgent
from .registry import agent_names, default_agent, make_agent
from .rule_agent import RuleAgent
from .rules import register_rules

__all__ = [
    "Agent",
    "HumanAgent",
    "RandomAgent",
    "RuleAgent",
    "Turns",
    "agent_names",
    "default_agent",
    "make_agent",
    "register_rules",
    "show_turns",
]
