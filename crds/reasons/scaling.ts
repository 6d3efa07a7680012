/** Of scaling policies: why the number of replicas is what it is. */
export const scalingReasons = {
  scaling_policy_set: { meaning: 'The deployment got a scaling policy, or another one.' },
  scaling_policy_removed: {
    meaning: 'The scaling policy was removed: the deployment has the replicas of its spec again.',
  },
  scaled_up: { meaning: 'The replicas used more than their target, so that more were started.' },
  scaled_down: { meaning: 'The replicas used less than their target, so that some were stopped.' },
  scaling_steady: { meaning: 'The replicas use what the scaling policy aims at, within 10 percent.' },
  scaling_stabilizing: {
    meaning:
      'Fewer replicas would do now, and more did a short while ago: the policy waits for its stabilization time.',
  },
  scaling_at_maximum: {
    meaning: 'More replicas would be needed than the scaling policy allows.',
    remedy: 'Raise the maximum: "moor autoscale {name} --max <number>".',
  },
  scaling_at_minimum: { meaning: 'Fewer replicas would do, and the scaling policy keeps its minimum.' },
  scaling_base: { meaning: 'The number of replicas in the spec has changed: the scaling policy goes on from there.' },
  scaling_bounds: { meaning: 'The number of replicas was outside of the bounds of the scaling policy.' },
  scaling_rests: {
    meaning: 'The number of replicas was moved a moment ago: the next step follows 15 seconds later at the earliest.',
  },
  scaling_no_figures: {
    meaning: 'It is not known yet what the replicas use.',
    remedy: 'Figures come every 15 seconds; if none come, look at the nodes: "moor top nodes" and "moor get nodes".',
  },
  scaling_no_request: {
    meaning: 'The scaling policy has a target for a resource that the deployment requests nothing of.',
    remedy: 'Set resources.cpu or resources.memory of {name}, or change the policy.',
  },
  scaling_rollout: { meaning: 'A rollout is under way: the number of replicas is not moved until it is complete.' },
  scaling_paused: {
    meaning: 'The rollout is paused, and the number of replicas with it.',
    remedy: '"moor rollout resume {name}".',
  },
  scaling_stopped: { meaning: 'The deployment is stopped: a scaling policy starts nothing.' },
} as const;
