"""Why something is as it is: the checks in the order of the rules, who could help, and what will happen next.

``why_task``, ``why_node``, ``why_preparation``, ``why_job``, ``why_schedule`` and ``why_pool`` read the world and
change nothing. They ask the verdict functions of the rules where there is one, and name the rule behind each sentence.
None of them looks at all tasks.
"""
