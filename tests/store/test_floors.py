"""From where a claim starts, and how often from the very beginning."""

from tenure.store.floors import Floors


def test_claims_start_where_the_last_one_came_to_and_from_the_beginning_once_a_second() -> None:
    floors = Floors()
    assert floors.at(10.0) is None
    floors.reached("a", None, 10.0, 10.002)
    assert floors.at(10.5) == "a"
    floors.reached("b", "a", 10.5, 10.6)
    assert floors.at(10.999) == "b"
    assert floors.at(11.0) is None
    assert floors.at(11.001) is None  # until it is answered
    floors.reached("c", None, 11.0, 11.002)
    assert floors.at(11.999) == "c"


def test_a_walk_from_the_beginning_takes_a_twentieth_of_the_time() -> None:
    floors = Floors()
    assert floors.at(10.0) is None
    floors.reached("a", None, 10.0, 10.5)
    assert floors.at(20.4) == "a"
    floors.reached("b", "a", 15.0, 19.0)  # however long one from a floor took
    assert floors.at(20.49) == "b"
    assert floors.at(20.5) is None


def test_what_was_given_back_is_looked_for_at_once() -> None:
    floors = Floors()
    floors.reached("a", None, 10.0, 10.0)
    floors.forget()
    assert floors.at(10.1) is None
