from typing import Any

from django.db import transaction
from django.http import JsonResponse

from shop.models import Order
from shop.tasks import aship, pack, ship


@transaction.atomic
def order(request: Any) -> JsonResponse:
    made = Order.objects.create(name=request.GET["name"])
    result = ship.enqueue(made.pk)
    if "broken" in request.GET:
        raise RuntimeError("after the task was enqueued")
    return JsonResponse({"order": made.pk, "result": result.id})


async def aorder(request: Any) -> JsonResponse:
    made = await Order.objects.acreate(name=request.GET["name"])
    result = await aship.aenqueue(made.pk)
    handle = await pack.aenqueue(made.pk)
    return JsonResponse({"order": made.pk, "result": result.id, "job": handle.id})
