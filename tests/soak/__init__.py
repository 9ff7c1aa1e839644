"""Long runs, in named parts."""
