"""The fleet's history on Apache Spark: `headway fleet --spark MASTER`, docs/fleet_history.md.

    python -m headway.fleet --spark local[*] --journals jobs --out history

What runs where: `history` is the driver's; `tasks` and `arrow` run on executors, together with the
extension `headway._fleet`, and are all that `shipment` sends there.
"""
