"""Sending requests to a MediaWiki API, and reading its answers."""

from collections.abc import Mapping
from urllib.parse import urlencode

from holocron_assets.crawl.http.polite_requests import PoliteRequests, Request
from holocron_assets.crawl.mediawiki.answers import ApiAnswer, read_answer
from holocron_assets.crawl.politeness.robots import Robots

# Servers and their proxies refuse addresses from about 8,190 bytes on.
_LONGEST_URL = 6000


class ApiRequests:
    """Sends requests to one API. Safe to use from several threads if their recording is."""

    def __init__(self, api_url: str, requests: PoliteRequests) -> None:
        """Send to `api_url` with `requests`, as far as its robots.txt allows."""
        self.host = requests.host
        self._api_url = api_url
        self._requests = requests
        self._robots = Robots(api_url, requests) if requests.limits.politeness.obey_robots else None

    def ask(self, parameters: Mapping[str, str]) -> tuple[ApiAnswer, int | None]:
        """Send one request (see `PoliteRequests.send`).

        Args:
            parameters: the API's parameters, all of them.

        Returns:
            The API's answer and its HTTP status.

        Raises:
            WikiUnavailable: no usable answer, for now.
            WikiRefused: the wiki will not answer this, or its robots.txt forbids to ask.
        """
        request = self._request(parameters)
        if self._robots:
            self._robots.refuse_unless_allowed(request)
        answer, content = self._requests.send(request, read_answer)
        return content, answer.status

    def _request(self, parameters: Mapping[str, str]) -> Request:
        titles = parameters.get("titles")
        shown = {name: value for name, value in parameters.items() if name != "titles"}
        # POST only if the address is too long: caches serve GET.
        is_long = len(self._api_url) + len(urlencode(parameters)) >= _LONGEST_URL
        return Request(
            verb="POST" if is_long else "GET",
            url=self._api_url,
            parameters=parameters,
            shown_url=f"{self._api_url}?{urlencode(shown)}",
            titles=titles.count("|") + 1 if titles else 0,
        )
