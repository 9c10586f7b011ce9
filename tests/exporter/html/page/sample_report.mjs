// SPDX-License-Identifier: MIT
// A report of a training loop that never ran: two threads, three streams, four ranks, all sections of the page. With a
// seed of its own, so that it is the same every time.
import {PackedBlocks} from './pack.mjs';

/// Names that do something where a page reads them as markup or script.
export const kHostileNames = [
  '<script>window.broken = 1</script>',
  '"><img src=x onerror="window.broken=1">',
  '</script><script>window.broken=1</script>',
  'javascript:window.broken=1',
  '<svg onload=window.broken=1>',
  '&lt;b&gt;',
  '\u202egnirts',
  '\u0000\u0007bell',
  '',
  '{{window.broken=1}}',
  '\'-window.broken=1-\'',
  '<!--',
  ']]>',
  'x'.repeat(4000),
  '한국어 커널',
  '__proto__',
  'constructor',
];

const kKernels = [
  'sm90_xmma_gemm_bf16_128x128', 'flash_fwd_kernel<64, 128>', 'elementwise_kernel<add>', 'layer_norm_kernel',
  'softmax_warp_forward', 'sm90_xmma_gemm_bf16_256x64', 'multi_tensor_apply_adamw', 'ncclDevKernel_AllReduce_Sum',
  'Memcpy HtoD (pinned)', 'cross_entropy_backward'
];
const kRanges = ['step', 'data', 'forward', 'backward', 'optimizer', 'attention', 'mlp', 'loss', 'allreduce'];

function random_of(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/// Rows of non-overlapping slices: [gap, duration, name] added up into the columns of a track.
class TrackColumns {
  constructor() {
    this.depths = [];
    this.gap = [];
    this.duration = [];
    this.name = [];
    this.category = [];
    this.cause = [];
  }

  /// `slices`: [begin, end, name, category, cause], in order.
  depth(slices) {
    let at = 0;
    for (const [begin, end, name, category = 0, cause = 0] of slices) {
      this.gap.push(begin - at);
      this.duration.push(end - begin);
      this.name.push(name);
      this.category.push(category);
      this.cause.push(cause);
      at = end;
    }
    this.depths.push(slices.length);
  }
}

function overview_of(slices, end_ns) {
  const busy = new Float64Array(512);
  for (const [begin, end] of slices) {
    for (let part = Math.floor((begin / end_ns) * 512); part < 512 && (part / 512) * end_ns < end; ++part) {
      const from = Math.max(begin, (part / 512) * end_ns);
      busy[part] += Math.max(0, Math.min(end, ((part + 1) / 512) * end_ns) - from);
    }
  }
  return Buffer.from(Uint8Array.from(busy, (ns) => Math.min(255, (ns * 512 * 255) / end_ns))).toString('base64');
}

class SampleReport {
  constructor({slices, steps, seed, hostile}) {
    this.random = random_of(seed);
    this.blocks = new PackedBlocks();
    this.steps = steps;
    this.names = [...kRanges, 'cudaLaunchKernel', 'cudaMemcpyAsync', ...kKernels, ...(hostile ? kHostileNames : [])];
    this.hostile_at = hostile ? this.names.length - kHostileNames.length : -1;
    this.per_step = Math.max(4, Math.floor(slices / 2 / steps));
    this.step_ns = this.per_step * 11_000;
    this.end_ns = this.step_ns * steps;
    this.tracks = [];
    this.numbered = 0;
  }

  name(text) { return this.names.indexOf(text); }

  add_track(kind, group, label, columns, first_depth) {
    const table = [
      ['gap_ns', 'varint', columns.gap], ['duration_ns', 'varint', columns.duration], ['name', 'varint', columns.name],
      ['category', 'u8', columns.category]
    ];
    if (kind === 'stream')
      table.push(['cause', 'delta', columns.cause], ['grid', 'varint', columns.name.map((name) => name * 128)]);
    this.tracks.push({
      kind,
      group,
      label,
      slices: columns.gap.length,
      first_slice: this.numbered,
      depths: columns.depths,
      table: this.blocks.table(table),
      overview: overview_of(first_depth, this.end_ns),
      details: kind === 'stream' ? [{column: 'grid', label: 'Grid', unit: ''}] : []
    });
    this.numbered += columns.gap.length;
  }

  add_timeline() {
    const steps = [];
    const parts = [];
    const calls = [];
    const kernels = [[], [], []];
    let at = 0;
    for (let step = 0; step < this.steps; ++step) {
      const begin = step * this.step_ns;
      at = Math.max(at, begin);
      steps.push([begin, begin + this.step_ns - 800, this.name('step')]);
      for (const [part, [from, to]] of [
               ['data', [0.01, 0.07]], ['forward', [0.08, 0.38]], ['backward', [0.39, 0.8]],
               ['optimizer', [0.82, 0.98]]])
        parts.push([begin + Math.floor(this.step_ns * from), begin + Math.floor(this.step_ns * to), this.name(part)]);
      for (let call = 0; call < this.per_step; ++call) this.add_launch(begin, call, calls, kernels);
    }
    const thread = new TrackColumns();
    for (const slices of [steps, parts, calls.map((call) => call)]) thread.depth(slices);
    this.add_track('thread', 'train, process 4711', 'main', thread, steps);
    const first_call = steps.length + parts.length;
    const group = 'device 0: NVIDIA H100 80GB HBM3';
    const projected = new TrackColumns();
    projected.depth(parts.map(([begin, end, name]) => [begin + 30_000, Math.min(end + 60_000, this.end_ns), name])
                        .filter(([begin], row, all) => row === 0 || begin >= all[row - 1][1]));
    this.add_track('projected', group, 'ranges on the device', projected, parts);
    for (const [stream, label] of ['stream 7', 'stream 20 (NCCL)', 'stream 14 (copies)'].entries()) {
      const columns = new TrackColumns();
      columns.depth(kernels[stream].map(
          ([begin, end, name, category, call]) => [begin, end, name, category, first_call + call + 1]));
      this.add_track('stream', group, label, columns, kernels[stream]);
    }
    this.add_counter(group);
    return {tracks: this.tracks};
  }

  add_launch(begin, call, calls, kernels) {
    const launched = begin + Math.floor(call * 9_900 + this.random() * 900 + this.step_ns * 0.01);
    const stream = call % 23 === 22 ? 1 : call % 41 === 40 ? 2 : 0;
    const row = kernels[stream];
    const hostile = this.hostile_at >= 0 && call % 7 === 0;
    const kernel = hostile ? this.hostile_at + (call / 7) % kHostileNames.length :
        stream === 1       ? this.name(kKernels[7]) :
        stream === 2       ? this.name(kKernels[8]) :
                             this.name(kKernels[Math.floor(this.random() ** 2 * 7)]);
    const start = Math.max(launched + 4_000, row.length > 0 ? row[row.length - 1][1] + 300 : 0);
    const end = start + Math.floor((stream === 1 ? 60_000 : 2_000) + this.random() ** 3 * 20_000);
    if (end > this.end_ns) return;
    row.push([start, end, kernel, stream + 1, calls.length]);
    calls.push([launched, launched + 2_100, this.name(stream === 2 ? 'cudaMemcpyAsync' : 'cudaLaunchKernel'), 5]);
  }

  add_counter(group) {
    const times = Array.from({length: 600}, (_, sample) => Math.floor((sample / 600) * this.end_ns));
    const values = times.map((_, sample) => 420 + 180 * Math.sin(sample / 9) + 40 * this.random());
    this.tracks.push({
      kind: 'counter',
      group,
      label: 'Power',
      unit: 'W',
      table: this.blocks.table([['time_ns', 'delta', times], ['value', 'f64', values]])
    });
  }

  step_bars() {
    const share = [0.46, 0.12, 0.05, 0.14, 0.04, 0.09];
    const rows = Array.from({length: this.steps}, (_, step) => {
      const slow = step % 11 === 7 ? 1.5 : 1;
      return share.map(
          (part, at) => Math.floor(this.step_ns * 0.98 * part * (at === 3 ? slow : 1) * (0.92 + 0.16 * this.random())));
    });
    const parts = [
      ['computation_ns', 'Computation', 'computation'],
      ['exposed_communication_ns', 'Exposed communication', 'communication'],
      ['exposed_memcpy_ns', 'Exposed copies', 'copy'], ['host_wait_ns', 'Idle: host wait', 'idle'],
      ['kernel_wait_ns', 'Idle: kernel wait', 'idle'], ['input_ns', 'Input', 'input']
    ];
    return {
      parts: parts.map(([column, label, role]) => ({column, label, role})),
      groups: [{label: 'rank 0, device 0', first_row: 0, rows: this.steps}],
      table: this.blocks.table([
        ['step', 'delta', rows.map((_, step) => step + 10)],
        ['begin_ns', 'delta', rows.map((_, step) => step * this.step_ns)],
        ['total_ns', 'varint', rows.map((row) => Math.max(this.step_ns, row.reduce((sum, part) => sum + part, 0)))],
        ...parts.map(([column], at) => [column, 'varint', rows.map((row) => row[at])]),
      ]),
    };
  }

  ranges() {
    const tree = [
      [0, 'step', 1, 1], [1, 'forward', 0.34, 0.3], [2, 'attention', 0.2, 0.1], [2, 'mlp', 0.12, 0.08],
      [2, 'loss', 0.02, 0.04], [1, 'backward', 0.47, 0.41], [2, 'allreduce', 0.11, 0.05], [2, 'attention', 0.2, 0.12],
      [2, 'mlp', 0.13, 0.09], [1, 'optimizer', 0.12, 0.16], [1, 'data', 0.01, 0.06]
    ];
    if (this.hostile_at >= 0) tree.push(...kHostileNames.map((name) => [1, name, 0.001, 0.001]));
    const all = Math.floor(this.end_ns * 0.62);
    const children = (row) => tree.slice(row + 1).filter(
        ([depth], at, rest) =>
            depth === tree[row][0] + 1 && rest.slice(0, at).every(([other]) => other > tree[row][0]));
    const self = (row, at) => Math.max(0, tree[row][at] - children(row).reduce((sum, child) => sum + child[at], 0));
    const column = (value_of) => tree.map((row, at) => Math.floor(value_of(row, at)));
    return {
      attribution: 'auto',
      accounts: [['Owned', all], ['Outside of any range', Math.floor(all * 0.03)], ['Launch unknown', 0]],
      table: this.blocks.table([
        ['depth', 'varint', column(([depth]) => depth)],
        ['name', 'varint', column(([, name]) => this.name(name))],
        ['count', 'varint', column(() => this.steps)],
        ['host_ns', 'varint', column(([, , , host]) => host * this.end_ns)],
        ['host_self_ns', 'varint', column((_, row) => self(row, 3) * this.end_ns)],
        ['gpu_busy_ns', 'varint', column(([, , gpu]) => gpu * all)],
        ['gpu_self_ns', 'varint', column((_, row) => self(row, 2) * all)],
        ['gpu_ops', 'varint', column(([, , gpu]) => gpu * 4000)],
        ['begin_ns', 'varint', column((_, row) => row * 1000)],
        ['duration_ns', 'varint', column(([, , , host]) => host * this.step_ns)],
      ])
    };
  }

  roofline() {
    const dots = [
      ['attention', 0.2, 9e13, 8e11], ['mlp', 0.13, 2.6e14, 1.3e12], ['optimizer', 0.12, 4e11, 1.1e12],
      ['loss', 0.02, 6e11, 4e11], ['data', 0.01, 1e9, 4e10]
    ];
    return {
      device: 'NVIDIA H100',
      peaks: [{label: 'bf16', flop_per_s: 8.1e14}, {label: 'fp32', flop_per_s: 6e13}],
      bandwidths: [{label: 'copy', byte_per_s: 2.9e12}],
      table: this.blocks.table([
        ['name', 'varint', dots.map(([name]) => this.name(name))],
        ['time_ns', 'varint', dots.map(([, share]) => Math.floor(share * 1e9))],
        ['flop', 'f64', dots.map(([, share, rate]) => share * rate)],
        ['byte', 'f64', dots.map(([, share, , rate]) => share * rate)],
        ['begin_ns', 'varint', dots.map(() => 0)],
        ['duration_ns', 'varint', dots.map(() => Math.floor(this.step_ns / 4))],
      ])
    };
  }

  memory() {
    const rows = 400;
    const times = Array.from({length: rows}, (_, row) => Math.floor((row / rows) * this.end_ns));
    const wave = (row) => ((row * this.steps) / rows) % 1;
    const held = [
      () => 14e9, (row) => 22e9 * (wave(row) < 0.45 ? wave(row) / 0.45 : Math.max(0, (0.85 - wave(row)) / 0.4)),
      (row) => wave(row) > 0.45 ? 6e9 : 1e9, () => 2e9
    ].map((bytes_of) => times.map((_, row) => Math.floor(bytes_of(row))));
    const sums = times.map((_, row) => held.reduce((sum, column) => sum + column[row], 0));
    const peak = sums.indexOf(Math.max(...sums));
    return {
      series: ['optimizer', 'forward', 'backward', 'other'].map((label, at) => ({column: `held_${at}`, label})),
      limit_bytes: 80 * 2 ** 30,
      reserved: 'reserved_bytes',
      peak: {time_ns: times[peak], bytes: sums[peak]},
      table: this.blocks.table([
        ['time_ns', 'delta', times], ...held.map((column, at) => [`held_${at}`, 'varint', column]),
        ['reserved_bytes', 'varint', times.map((_, row) => Math.floor(48e9 - (row < 30 ? 8e9 : 0)))]
      ])
    };
  }

  ranks() {
    const ranks = 16;
    const value = (rank, step) =>
        this.step_ns * (1 + 0.03 * this.random() + (rank === 5 ? 0.12 : 0) + (step % 11 === 7 ? 0.1 : 0));
    const cells =
        Array.from({length: ranks * this.steps}, (_, cell) => value(Math.floor(cell / this.steps), cell % this.steps));
    return {
      ranks: Array.from({length: ranks}, (_, rank) => `rank ${rank}`),
      steps: Array.from({length: this.steps}, (_, step) => step + 10),
      metrics: [
        {column: 'step_ns', label: 'Step', unit: 'ns'}, {column: 'late_ns', label: 'Late to collectives', unit: 'ns'}
      ],
      table: this.blocks.table([['step_ns', 'f64', cells], ['late_ns', 'f64', cells.map((ns) => ns - this.step_ns)]])
    };
  }

  advice() {
    return {
      items: [
        {
          title: 'The host launches too slowly',
          severity: 'bad',
          text: 'The device waits for launches in `forward`: capture it as a CUDA graph.',
          evidence: ['14 % of the time is host wait', 'median launch delay 4.0 µs'],
          gain: 'up to 14 % of the time',
          begin_ns: this.step_ns * 2,
          duration_ns: Math.floor(this.step_ns * 0.3)
        },
        {
          title: 'Rank 5 is slow',
          severity: 'warning',
          text: 'It comes last to 93 % of the collectives.',
          evidence: ['12 % above the median'],
          gain: 'up to 9 %'
        },
      ],
      not_evaluated: ['Tensor cores: needs hardware counters']
    };
  }
}

/// {index, blocks} of a report with about `slices` slices.
export function sample_report({slices = 20_000, steps = 24, seed = 7, hostile = false} = {}) {
  const report = new SampleReport({slices, steps, seed, hostile});
  const sections = {
    steps: report.step_bars(),
    ranges: report.ranges(),
    timeline: report.add_timeline(),
    roofline: report.roofline(),
    memory: report.memory(),
    ranks: report.ranks(),
    advice: report.advice()
  };
  const title = hostile ? kHostileNames[1] : 'train.rfcap';
  return {
    blocks: report.blocks,
    slices: report.numbered,
    index: {
      schema_version: 1,
      generator: 'sample',
      title,
      begin_ns: '81234567890123456',
      end_ns: String(81234567890123456n + BigInt(report.end_ns)),
      wall_begin_ms: 1790000000000,
      simulated: true,
      facts: [['Device', 'NVIDIA H100 80GB HBM3'], ['Attribution', 'auto'], ['Ranks', '16']],
      verdict: {
        text: hostile ?
            kHostileNames[0] :
            'The GPU computed for 46 % of the time. Most of the rest is host wait: launches come too late in forward.',
        level: 'warning'
      },
      names: report.blocks.names(report.names),
      blocks: report.blocks.entries,
      ...sections,
      absent: {},
      lost: {
        complete: false,
        counts: [{label: 'Ranges dropped', count: 17, text: 'No free memory.'}],
        notes: ['sample data'],
        clock_error_ns: 850,
        exported: {slices_left_out: 0, why: ''}
      },
    }
  };
}
