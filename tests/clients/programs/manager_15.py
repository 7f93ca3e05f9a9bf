"""A job manager task: it adds tasks with the token that the service gives it, and reads what they have written."""

import os
import time

from azure.batch import BatchClient, models
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError


class OfTheTask:
    """The token of the task's environment as a credential."""

    def get_token(self, *_scopes, **_more):
        return AccessToken(os.environ["AZ_BATCH_AUTHENTICATION_TOKEN"], int(time.time()) + 3600)


client, job = BatchClient(os.environ["AZ_BATCH_ACCOUNT_URL"], OfTheTask()), os.environ["AZ_BATCH_JOB_ID"]
made = [
    models.BatchTaskCreateOptions(id=f"made-{n}", command_line=f"/bin/sh -c 'echo $((6 * {n}))'") for n in range(1, 4)
]
client.create_tasks(job, made)
try:
    client.create_task("other", made[0])
except HttpResponseError as error:
    print("refused", error.status_code)
while any(task.state != "completed" for task in client.list_tasks(job) if task.id != "manager"):
    time.sleep(0.2)
print(*(b"".join(client.download_task_file(job, task.id, "stdout.txt")).decode().strip() for task in made))
