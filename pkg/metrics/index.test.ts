import { expect } from 'chai';

import { createMetrics, type MetricRow, metricsTable } from './index.js';

describe('metrics', () => {
  it('prints counters, histograms and gauges', async () => {
    const metrics = createMetrics({ processMetrics: false });
    metrics.count('mooring_rejections_total', { code: 'image_required' });
    metrics.count('mooring_rejections_total', { code: 'image_required' });
    metrics.observe('mooring_reconcile_seconds', { loop: 'scheduler', result: 'done' }, 0.02);
    metrics.counter('mooring_rejections_total', { code: 'image_required' }).add();
    metrics.histogram('mooring_reconcile_seconds', { loop: 'scheduler', result: 'done' }).observe(0.02);
    metrics.set('mooring_queue_depth', { loop: 'scheduler' }, 7);

    const lines = (await metrics.text()).split('\n');

    expect(lines).to.include('mooring_rejections_total{code="image_required"} 3');
    expect(await metrics.text(), 'read again').to.include('mooring_rejections_total{code="image_required"} 3\n');
    expect(lines).to.include('mooring_reconcile_seconds_bucket{le="0.025",loop="scheduler",result="done"} 2');
    expect(lines).to.include('mooring_queue_depth{loop="scheduler"} 7');
  });

  it('keeps sets apart, and includes metrics of the process by default', async () => {
    createMetrics().count('mooring_rejections_total', { code: 'image_required' });
    const text = await createMetrics().text();

    expect(text).to.not.include('image_required');
    expect(text).to.include('process_resident_memory_bytes');
  });

  it('has no label that grows with the number of users', () => {
    const grows = ['tenant', 'name', 'deployment', 'node', 'replica', 'token', 'id', 'path', 'address'];
    for (const [name, { labels }] of Object.entries<MetricRow>(metricsTable)) {
      expect(labels, name).to.not.include.members(grows);
      for (const label of labels) expect(grows, name).to.not.include(label);
    }
  });
});
