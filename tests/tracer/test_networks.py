"""networkx is loaded in part, and nobody can tell but by the time."""

from tests.helpers import fork_server

PART = "import sys, opweave; from opweave.tracer.networks import load_networkx; load_networkx()\n"


def run(program: str) -> str:
    done = fork_server.python(["-c", program], timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_compiled_training_step_needs_no_algorithm_of_networkx():
    loaded = run(
        "import sys, opweave\n"
        "w = opweave.ones(3, 3).requires_grad_()\n"
        "opweave.compile(lambda x, w: (x @ w).relu().sum())(opweave.ones(3, 3), w).backward()\n"
        "assert w.grad.tolist() == [[3.0] * 3] * 3\n"
        "print(*(name for name in sys.modules if name.startswith('networkx')))"
    ).split()
    assert "networkx.classes.multidigraph" in loaded
    assert not [name for name in loaded if name.startswith(("networkx.algorithms", "networkx.generators"))]


def test_names_that_it_lacks_load_the_rest():
    shown = run(
        PART + "import networkx as nx\n"
        "graph = nx.MultiDiGraph()\n"
        "graph.add_edges_from([(1, 2), (2, 3)])\n"
        "assert 'networkx.algorithms' not in sys.modules and not hasattr(nx, '__wrapped__')\n"
        "assert nx.ancestors(graph, 3) == {1, 2}\n"
        "print(nx.algorithms.flow.maxflow.__name__, nx.drawing.__name__, nx.path_graph(3).number_of_edges())\n"
        "for name in ('random_tree', 'nothing'):\n"
        "    try: getattr(nx, name)\n"
        "    except AttributeError as error: print(str(error).splitlines()[0])\n"
    )
    assert shown.splitlines() == [
        "networkx.algorithms.flow.maxflow networkx.drawing 2",
        "nx.random_tree was removed in version 3.4. Use `nx.random_labeled_tree` instead.",
        "module 'networkx' has no attribute 'nothing'",
    ]


def test_it_has_the_same_names_in_the_end():
    names = "import networkx\nprint(*sorted(dir(networkx)))"
    whole = run(names)
    assert run(PART + names) == whole
    assert run(PART + "from networkx import *\nimport networkx\nassert ancestors\n" + names) == whole
    assert run(PART + "import networkx.algorithms.flow\nassert networkx.algorithms.flow.minimum_cut\n" + names) == whole
    assert run("import networkx\n" + PART + names) == whole


def test_threads_that_ask_at_once_all_get_it():
    run(
        PART + "import networkx, threading\n"
        "names, found = ['ancestors', 'path_graph', 'spring_layout', 'to_numpy_array'] * 3, []\n"
        "threads = [threading.Thread(target=lambda n=n: found.append(getattr(networkx, n))) for n in names]\n"
        "[t.start() for t in threads], [t.join() for t in threads]\n"
        "assert len(found) == len(names)"
    )
