"""The pack author's side: corpora of labelled screens, and how right the verdicts on them are."""
