"""Published model outputs, imported as responses (kind `released`)."""
