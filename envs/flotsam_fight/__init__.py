"""Flotsam Fight (Tomoyuki Maruta, Oink Games 2018): ``env`` and ``raw_env`` build the PettingZoo environment."""
