from stallkit.testing import check_pack


def test_every_example_is_met() -> None:
    assert check_pack("stallkit_claude_code") > 0
