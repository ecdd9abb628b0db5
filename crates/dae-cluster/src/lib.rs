//! The daemons of a cluster: who is in it, and how they place, start, watch and end the hosts of a job.
