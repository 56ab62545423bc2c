"""The environment variables by which a Snakemake run tells its commands what belongs to it.

command_client.py, which imports nothing, says RUN's name once more; a test holds them together.
"""

RUN = "LESSONPRESS_RUN"  # the folder of the run's servers, Snakemake's process id, and when that process started
CLIENT = "LESSONPRESS_CLIENT"  # the file that has those servers do a command
PYTHON = "LESSONPRESS_PYTHON"  # the interpreter that runs Snakemake
NOTE = "LESSONPRESS_NOTE"  # the curator's words of `--config note=…`; as a parameter of a rule they would make it run
AGAIN = "LESSONPRESS_AGAIN"  # the steps that Snakemake does again (-F, -R): nothing is taken over for them
