"""Where packs come from: their hook, their file format, and the registry of those installed."""
