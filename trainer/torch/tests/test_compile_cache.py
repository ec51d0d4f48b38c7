"""Tests that compiled kernels are kept on the machine, in the user's cache folder."""

from __future__ import annotations

from pathlib import Path

from ajet_torch.compile_cache import keep_compiled


def test_every_compiler_gets_a_folder_of_the_user(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    folder = keep_compiled(env)
    assert folder == tmp_path / "agentjet" / "compiled"
    assert {Path(value).parent for name, value in env.items() if name.endswith("_CACHE_DIR")} == {folder}
    assert all(Path(value).is_dir() for name, value in env.items() if name.endswith("_CACHE_DIR"))
    assert env["FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED"] == "1"


def test_what_the_environment_says_is_left_alone(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path), "TRITON_CACHE_DIR": "/elsewhere"}
    keep_compiled(env)
    assert env["TRITON_CACHE_DIR"] == "/elsewhere"
    assert env["TORCHINDUCTOR_CACHE_DIR"].startswith(str(tmp_path))


def test_the_folder_of_triton_stays_with_that_of_pytorch(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path), "TORCHINDUCTOR_CACHE_DIR": "/elsewhere"}
    keep_compiled(env)
    assert env["TORCHINDUCTOR_CACHE_DIR"] == "/elsewhere"
    assert "TRITON_CACHE_DIR" not in env


def test_a_folder_that_cannot_be_made_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    env = {"XDG_CACHE_HOME": str(tmp_path / "file")}
    assert keep_compiled(env) is None
    assert list(env) == ["XDG_CACHE_HOME"]
