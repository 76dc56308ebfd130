"""Tables to figures and pages."""
