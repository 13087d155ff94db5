"""The words of decisions: their occasions, their outcomes, and the reasons of exemptions."""

REQUEST, REDIRECT, FILTER, BROWSER = "request", "redirect", "queue-filter", "browser"
AGAIN, CAME_BACK = "user-agent", "put-back"
"""The occasion of a decision: a request on its way, the target of a redirect, a request before it
was queued, a request of a page in a browser, an allowed request that then got another User-Agent,
or an allowed request that was put back into the queue."""

PASSED, DROPPED, WOULD_DROP = "passed", "dropped", "would-drop"
ABORTED, SLIPPED = "aborted", "slipped"
"""The outcome of a decision. In a dry run, a disallowed request would be dropped. A browser aborts
a disallowed request, or has already followed a redirect to it that could not be stopped."""

DONT_OBEY, SCHEME, ITSELF, OFF = "dont_obey", "scheme", "robots-txt-itself", "off"
"""Why robots.txt does not apply: the request is exempt, its scheme is not judged, it is for a
robots.txt itself, or `ROBOTSTXT_OBEY` is off."""
