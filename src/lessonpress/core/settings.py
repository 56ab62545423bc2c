"""What config.yaml may say: where things lie, the site's name, and the worker's limits; every key has a default."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[int, Field(gt=0)]


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Site(_Settings):
    """The published site."""

    title: str = Field("Lessons", description="The catalogue's title.")
    author: str = Field("", description="Who publishes the site, for its feed; empty: its title stands there.")
    base_url: str = Field("", pattern=r"^(https?://.*[^/])?$",
                          description="Where the site is served, for absolute links; no slash at the end.")  # fmt: skip


class Limits(_Settings):
    """What one worker process may use; each is reported by name when it is hit."""

    wall_seconds: Positive = Field(60, description="Seconds from start to answer.")
    cpu_seconds: Positive = Field(60, description="Seconds of processor time.")
    memory_mib: Positive = Field(4096, description="Address space in MiB; torch alone needs 700, its CUDA build 3200.")
    processes: Positive = Field(1, description="Processes, the worker included; with 1 the kernel refuses any other.")
    threads: Positive = Field(64, description="Threads of the worker.")
    open_files: Positive = Field(256, description="Open file descriptors.")
    file_mib: Positive = Field(64, description="Any one file that the worker writes, where it can write, in MiB.")
    scratch_mib: Positive = Field(64, description="All that the worker writes into its scratch folder, in MiB.")
    answer_mib: Positive = Field(64, description="The worker's answer in MiB.")
    printed_mib: Positive = Field(16, description="What the lesson prints, in MiB; 64 KiB of it are kept.")
    prepare_seconds: Positive = Field(
        300, description="Seconds that `lessonpress prepare` may take, in the places of wall_seconds and cpu_seconds.")

    def preparing(self) -> Limits:
        """The limits of a preparation: training takes longer than a run."""
        return self.model_copy(update={"wall_seconds": self.prepare_seconds, "cpu_seconds": self.prepare_seconds})


class Isolation(_Settings):
    """How strongly a worker must be confined before its answer is published."""

    minimum: Literal["auto", "linux-strict", "linux-seccomp", "posix-basic"] = Field(
        "auto", description="The weakest profile that may publish; auto is linux-strict on Linux, else posix-basic.")
    bubblewrap: Literal["auto", "never"] = Field(
        "auto", description="Whether bubblewrap, where it is installed and starts, is put around the worker.")

    def required(self) -> str:
        """The profile that `minimum` means on this system."""
        if self.minimum != "auto":
            return self.minimum
        return "linux-strict" if sys.platform.startswith("linux") else "posix-basic"


class Signing(_Settings):
    """Signatures of revisions, for who wants them."""

    key: str = Field("", description="The file of the SSH key with which publishing signs; empty: it does not.")
    signers: str = Field("", description="Who may sign, a file as ssh-keygen reads it (allowed signers).")
    identity: str = Field("", description="The workflow (or e-mail address) whose Sigstore attestations count.")
    issuer: str = Field("", description="Who vouches for that identity, such as a hosting service's address.")
    trust_root: str = Field("", description="A Sigstore trusted root of your own, as JSON; empty: the public one.")
    required: bool = Field(
        False, description="Whether every published revision must be signed by them: each way that is named here.")

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.required and not (self.signers or self.identity):
            raise ValueError("required is true, but signers names nobody who may sign, nor does identity")
        if self.identity and not self.issuer:
            raise ValueError("an identity is one of somebody who vouches for it: write issuer too")
        return self


# What lies in the folder `work` beside the lessons' folders: no lesson can be called so.
TAKEN = frozenset({"diff", "good", "logs", "site", "verify"})


class Config(_Settings):
    """All settings; every key has a default."""

    lessons: str = Field("lessons", min_length=1, description="The folder that holds one folder for each lesson.")
    results: str = Field("results", min_length=1, description="The published site; it is committed.")
    work: str = Field("work", min_length=1, description="Intermediate files; never committed.")
    keep: str = Field("all", pattern=r"^(all|tagged|last [1-9][0-9]{0,5})$",
                      description="Which revisions `prune --policy` keeps: all, last N, or tagged by git.")  # fmt: skip
    earlier: Literal["plain", "packed"] = Field(
        "plain", description="How superseded revisions are kept: as folders, or as archives that `deploy` unpacks.")
    batch: Positive = Field(200, description="Has no effect any more: a cluster's jobs are made by --group-components.")
    site: Site = Field(Site(), description="What the pages around the lessons say.")
    limits: Limits = Field(Limits(), description="What one worker process may use.")
    isolation: Isolation = Field(Isolation(), description="How strongly a worker must be confined.")
    signing: Signing = Field(Signing(), description="Who signs what is published.")

    @model_validator(mode="after")
    def _apart(self) -> Self:
        """Source, site and scratch lie apart: none of the three folders is another one or inside it."""
        named = {name: Path(getattr(self, name)).resolve() for name in ("lessons", "results", "work")}
        for name, folder in named.items():
            for other, place in named.items():
                if name != other and (folder == place or place in folder.parents):
                    raise ValueError(f"{name} lies in {other}; the three folders must lie apart")
        return self

    def lesson(self, slug: str) -> Path:
        """The folder of a lesson's source."""
        return Path(self.lessons) / slug

    def work_dir(self, slug: str) -> Path:
        """The folder of a lesson's intermediate files: one for each state of it, and what was given a name."""
        return Path(self.work) / slug

    def published(self, slug: str) -> Path:
        """The folder of a lesson's published revisions."""
        return Path(self.results) / "models" / slug
