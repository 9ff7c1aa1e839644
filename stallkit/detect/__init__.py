"""From a screen to a detection: signatures, dialogs, composers, and the engine that tries them in order.  Pure."""
