"""Diagnosis: answers to "why?", concerns of the whole run, expectations, and expected ends.

Answers and concerns are made of findings (``model.py``): a condition, how it stands, the rules that this rests on, its
effect and its remedy. An answer states the conditions in the order of the rules, who can help, and the next event that
matters. ``why_task``, ``why_node``, ``why_preparation``, ``why_job``, ``why_schedule`` and ``why_pool`` read the world
and change nothing. They ask the verdict functions of the rules where there is one, and cite a rule for each sentence.
None of them loops over all tasks.

Concerns are findings that need attention: failures, shortages and delays that a user should know of.
"""
