"""What became of an order: what was written, or that it held already."""

from bernstein_operator.api.names import GROUP
from kubectl_bernstein.naming import kind_of
from kubectl_bernstein.orders import Order
from kubectl_bernstein.views.view import Line, Prose, View


def order_view(order: Order) -> View:
    """Return what a person reads after ``order`` was carried out."""
    kind, meta = kind_of(order.target), order.target.meta
    data = {
        "kind": kind.kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "changed": order.patch is not None,
        "message": order.message,
    }
    text = f"{kind.kind.lower()}.{GROUP}/{meta.name} {order.message}"
    return View(data, Prose((Line(text),)))
