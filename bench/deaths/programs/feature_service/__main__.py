"""Entry point: python -m feature_service."""

from feature_service.features import serve

serve(requests=50_000)
