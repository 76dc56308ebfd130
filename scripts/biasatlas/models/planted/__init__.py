"""Planted models (kind ``planted``): tiny language models, trained here on a corpus whose bias is known."""
