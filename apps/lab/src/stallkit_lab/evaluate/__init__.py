"""How right packs are on labelled screens: corpora, predictions, figures, comparisons, pages."""
