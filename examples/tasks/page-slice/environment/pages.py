"""Pagination of lists."""


def page_of(items, page, per_page):
    """The items of a page; pages are counted from one."""
    start = (page + 1) * per_page
    return items[start : start + per_page]
