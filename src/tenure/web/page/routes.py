"""Every path of the page."""

from starlette.routing import BaseRoute, Route

from tenure.web.page import doing, job, jobs, live, login, static

ROUTES: list[BaseRoute] = [
    Route("/static/{name}", static.static, methods=["GET"]),
    Route("/login", login.login_form, methods=["GET"]),
    Route("/login", login.login, methods=["POST"]),
    Route("/logout", login.logout, methods=["POST"]),
    Route("/live", live.everything, methods=["GET"]),
    Route("/", jobs.list_jobs, methods=["GET"]),
    Route("/jobs", jobs.list_jobs, methods=["GET"]),
    Route("/jobs/{job}", job.show_job, methods=["GET"]),
    Route("/jobs/{job}/live", live.job, methods=["GET"]),
    Route("/jobs/{job}/artifacts/{name:path}", job.artifact, methods=["GET"]),
    *(
        Route(f"/jobs/{{job}}/{verb}", doing.doing(do), methods=["POST"])
        for verb, do in doing.VERBS.items()
    ),
]
