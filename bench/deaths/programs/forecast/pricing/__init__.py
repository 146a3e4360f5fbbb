"""Price forecasts."""
