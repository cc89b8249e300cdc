"""The life-cycle of claims: pure planners, from facts to actions with reasons."""
