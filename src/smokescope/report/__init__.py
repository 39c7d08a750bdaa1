"""What people look at: colours, figures and tables."""
