// Evaluates the shipped alert rules in the server, on its own metrics, for installations without Prometheus.
import { readFile } from 'node:fs/promises';
import type { Clock, Emitter } from '../../core/index.ts';
import { event, every } from '../../core/index.ts';
import type { Metrics } from '../../platform/telemetry/metrics.ts';
import { MetricHistory } from './metric-history.ts';
import type { Sample } from './metric-history.ts';
import type { Expression } from './promql.ts';
import { parsePromql } from './promql.ts';

export interface AlertRule {
  readonly name: string;
  readonly severity: 'info' | 'warning' | 'critical';
  /** The condition must last this long before the alert fires. */
  readonly forMs: number;
  readonly expression: Expression;
  /** `{{ $labels.NAME }}` stands for a label. */
  readonly summary: string;
  readonly description: string;
}

export interface Alert {
  /** As in the rule file. */
  readonly name: string;
  readonly severity: AlertRule['severity'];
  /** What it is about, for example one model; empty when it is about the whole server. */
  readonly labels: Readonly<Record<string, string>>;
  /** The organization it is about; null when it is about none or all. */
  readonly organizationId: string | null;
  /** What happened, and what to do. */
  readonly message: string;
  readonly since: Date;
  /** In the words of Prometheus: `pending` until the condition has lasted for the rule's duration. */
  readonly state: 'pending' | 'firing';
}

export const alertEvents = {
  'alert:firing': event<{ alert: string; severity: string }>({
    level: 'warn',
    message: 'an alert is firing',
  }),
  'alert:resolved': event<{ alert: string; severity: string }>({
    level: 'info',
    message: 'an alert is resolved',
  }),
};

export type AlertEvents = typeof alertEvents;

export interface AlertMonitorDeps {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'read'>;
  readonly events: Emitter<AlertEvents>;
  /** Default: those of monitoring/headworks-alerts.yml. */
  readonly rules?: readonly AlertRule[];
}

/** A failure is shown within 15 s: this, and the time to read the metrics. */
const evaluateEveryMs = 10_000;

interface Condition {
  readonly rule: AlertRule;
  readonly labels: Sample['labels'];
  readonly since: Date;
  /** Monotonic. */
  readonly startedAt: number;
}

export class AlertMonitor {
  readonly #deps: AlertMonitorDeps;
  #loaded: ReturnType<typeof load> | undefined;
  #active = new Map<string, Condition>();
  #firing = new Map<string, AlertRule>();
  #evaluation: Promise<void> | undefined;
  /** Evaluations that were requested, and the last of them that is in the result. */
  #requested = 1;
  #evaluated = 0;
  #isStopped = false;

  constructor(deps: AlertMonitorDeps) {
    this.#deps = deps;
  }

  /** Evaluates now and every ten seconds; the returned function stops that. */
  start(): () => void {
    this.evaluateSoon();
    // Rules that cannot be loaded are reported by `list`.
    const stop = every(this.#deps.clock, evaluateEveryMs, () => this.evaluate().catch(() => undefined));
    return () => {
      // The stores are closed next, which the evaluation that runs may see.
      this.#isStopped = true;
      stop();
    };
  }

  /** Pending and firing alerts. Waits for an evaluation if something has happened since the last one. */
  async list(): Promise<readonly Alert[]> {
    while (this.#evaluated < this.#requested) await this.evaluate();
    return this.#alerts();
  }

  /** Firing alerts by the last evaluation. Never waits. */
  firing(): readonly Alert[] {
    return this.#alerts().filter(({ state }) => state === 'firing');
  }

  #alerts(): readonly Alert[] {
    const now = this.#deps.clock.monotonic();
    return [...this.#active.values()].map((condition) => ({
      name: condition.rule.name,
      severity: condition.rule.severity,
      labels: condition.labels,
      organizationId: condition.labels['organization'] ?? null,
      message: messageOf(condition),
      since: condition.since,
      state: isFiring(condition, now) ? 'firing' : 'pending',
    }));
  }

  /** For what must not wait for the next round, such as a store that went down. */
  evaluateSoon(): void {
    this.#requested += 1;
    this.evaluate().catch(() => undefined);
  }

  /** A rule whose metrics cannot be read keeps its state. Fails only when the rules cannot be loaded. */
  evaluate(): Promise<void> {
    this.#evaluation ??= this.#evaluate().finally(() => (this.#evaluation = undefined));
    return this.#evaluation;
  }

  async #evaluate(): Promise<void> {
    const { clock, metrics } = this.#deps;
    const requested = this.#requested;
    const { rules, names, history } = await (this.#loaded ??= load(this.#deps.rules));
    const read = await metrics.read(names);
    const [since, startedAt] = [new Date(clock.now()), clock.monotonic()];
    for (const [name, samples] of read) if (samples) history.add(name, withInstance(samples), startedAt);
    const active = new Map<string, Condition>();
    for (const rule of rules) {
      const isKnown = [...rule.expression.metrics.keys()].every((name) => read.get(name) !== null);
      const labels = isKnown
        ? rule.expression.evaluate(history).map((sample) => sample.labels)
        : this.#labelsOf(rule);
      for (const each of labels) {
        const key = `${rule.name} ${JSON.stringify(each)}`;
        active.set(key, this.#active.get(key) ?? { rule, labels: each, since, startedAt });
      }
    }
    this.#active = active;
    this.#evaluated = requested;
    if (!this.#isStopped) this.#emitChanges(startedAt);
  }

  #labelsOf(rule: AlertRule): readonly Sample['labels'][] {
    return [...this.#active.values()].filter((each) => each.rule === rule).map(({ labels }) => labels);
  }

  #emitChanges(now: number): void {
    const firing = new Map(
      [...this.#active].filter(([, each]) => isFiring(each, now)).map(([key, { rule }]) => [key, rule]),
    );
    const { events } = this.#deps;
    for (const [key, { name: alert, severity }] of firing)
      if (!this.#firing.has(key)) events.emit('alert:firing', { alert, severity });
    for (const [key, { name: alert, severity }] of this.#firing)
      if (!firing.has(key)) events.emit('alert:resolved', { alert, severity });
    this.#firing = firing;
  }
}

const isFiring = ({ rule, startedAt }: Condition, now: number): boolean => now - startedAt >= rule.forMs;

/** Prometheus adds the address of the scraped process. */
const withInstance = (samples: readonly Sample[]): readonly Sample[] =>
  samples.map(({ labels, value }) => ({ labels: { instance: 'this server', ...labels }, value }));

const messageOf = ({ rule, labels }: Condition): string =>
  `${rule.summary} ${rule.description}`.replaceAll(
    /\{\{ \$labels\.(\w+) \}\}/g,
    (_, name: string) => labels[name] ?? '',
  );

async function load(given: readonly AlertRule[] | undefined) {
  const rules = given ?? (await readAlertRules());
  const retention = new Map<string, number>();
  for (const { expression } of rules)
    for (const [metric, ms] of expression.metrics)
      retention.set(metric, Math.max(ms, retention.get(metric) ?? 0));
  return { rules, names: [...retention.keys()], history: new MetricHistory(retention) };
}

const rulesFile = new URL('../../../monitoring/headworks-alerts.yml', import.meta.url);

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly for?: string;
      readonly labels: { readonly severity: AlertRule['severity'] };
      readonly annotations: { readonly summary: string; readonly description: string };
    }[];
  }[];
}

/** The rules that Prometheus loads. Fails with a SyntaxError if an expression is not supported. */
export async function readAlertRules(): Promise<readonly AlertRule[]> {
  const { parse } = await import('yaml');
  const { groups } = parse(await readFile(rulesFile, 'utf8')) as RuleFile;
  return groups
    .flatMap(({ rules }) => rules)
    .map((rule) => ({
      name: rule.alert,
      severity: rule.labels.severity,
      forMs: rule.for === undefined ? 0 : durationMs(rule.for),
      expression: parsePromql(rule.expr),
      ...rule.annotations,
    }));
}

function durationMs(text: string): number {
  const minutes = { m: 1, h: 60, d: 1_440 }[text.slice(-1)];
  if (minutes === undefined) throw new SyntaxError(`"for: ${text}" is not supported in an alert rule.`);
  return Number.parseInt(text, 10) * minutes * 60_000;
}
