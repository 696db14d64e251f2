"""Run as a program: ask an address, read what comes as the API's, and print by how many MB that grew us."""

import json
import resource
import sys

from holocron_assets.crawl.http.client import HttpClient
from holocron_assets.crawl.mediawiki.answers import read_answer


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(url: str, limit: int) -> None:
    agent = "Holocron-tests/1 (tests@example.org)"
    with HttpClient(agent, body_limit_bytes=limit, private_hosts=["127.0.0.1"]) as client:
        client.send("GET", url, {"warm": "up"})
        before = peak_mb()
        answer = client.send("GET", url, {"meet": "the bomb"})
        said = read_answer(answer)
        report = {"grew_mb": peak_mb() - before, "problem": said.problem}
    sys.stdout.write(json.dumps(report))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
