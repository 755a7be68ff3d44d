// The part of PromQL that the shipped alert rules use, so that a server can evaluate the file that Prometheus loads.
// Selectors with matchers, ranges and offsets; sum, max, min and count; increase, rate, min_over_time and absent;
// arithmetic, comparisons, and, or, unless. Everything else is rejected when the rules are loaded.
import type { MetricHistory, Sample } from './metric-history.ts';

type History = Pick<MetricHistory, 'at' | 'increase' | 'min'>;

export interface Expression {
  /** The metrics that it reads, and for each how many milliseconds back. */
  readonly metrics: ReadonlyMap<string, number>;
  readonly evaluate: (source: History) => readonly Sample[];
}

type Value = number | readonly Sample[];
type Node = (source: History) => Value;
type Predicate = (sample: Sample) => boolean;

interface Selector {
  readonly metric: string;
  readonly matches: Predicate;
  readonly windowMs: number;
  readonly offsetMs: number;
}

const token = /\s*(?:([a-zA-Z_]\w*)|(\d+(?:\.\d+)?[smhd]?)|"([^"]*)"|(=~|!=|==|>=|<=|[-+*/(){}[\],=<>]))/y;
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Fails with a SyntaxError that names what it does not support. */
export function parsePromql(text: string): Expression {
  const parser = new Parser(text);
  const node = parser.expression();
  parser.end();
  return {
    metrics: parser.metrics,
    evaluate: (source) => {
      const value = node(source);
      return typeof value === 'number' ? [{ labels: {}, value }] : value;
    },
  };
}

/** Operators by precedence, the weakest first. */
const operators: readonly Readonly<Record<string, (left: Value, right: Value) => Value>>[] = [
  { or: (left, right) => [...vector(left), ...without(left, right)] },
  {
    and: (left, right) => vector(left).filter((each) => keysOf(right).has(keyOf(each))),
    unless: (left, right) => without(right, left),
  },
  {
    '>': comparison((a, b) => a > b),
    '<': comparison((a, b) => a < b),
    '>=': comparison((a, b) => a >= b),
    '<=': comparison((a, b) => a <= b),
    '==': comparison((a, b) => a === b),
    '!=': comparison((a, b) => a !== b),
  },
  { '+': arithmetic((a, b) => a + b), '-': arithmetic((a, b) => a - b) },
  { '*': arithmetic((a, b) => a * b), '/': arithmetic((a, b) => a / b) },
];

const aggregations: Readonly<Record<string, (values: readonly number[]) => number>> = {
  sum: (values) => values.reduce((sum, value) => sum + value, 0),
  max: (values) => Math.max(...values),
  min: (values) => Math.min(...values),
  count: (values) => values.length,
};

const rangeFunctions: Readonly<Record<string, (source: History, selector: Selector) => readonly Sample[]>> = {
  increase: (source, { metric, windowMs }) => source.increase(metric, windowMs),
  rate: (source, { metric, windowMs }) =>
    source
      .increase(metric, windowMs)
      .map(({ labels, value }) => ({ labels, value: value / (windowMs / 1_000) })),
  min_over_time: (source, { metric, windowMs }) => source.min(metric, windowMs),
};

class Parser {
  readonly metrics = new Map<string, number>();
  readonly #text: string;
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    const tokens: string[] = [];
    token.lastIndex = 0;
    while (text.slice(token.lastIndex).trim() !== '') {
      const position = token.lastIndex;
      const found = token.exec(text);
      if (!found) throw this.#unsupported(text.slice(position).trim());
      tokens.push(found[3] === undefined ? found[0].trim() : `"${found[3]}`);
    }
    this.#tokens = tokens;
  }

  expression(level = 0): Node {
    const known = operators[level];
    if (!known) return this.#operand();
    let node = this.expression(level + 1);
    for (let apply = known[this.#next]; apply; apply = known[this.#next]) {
      this.#at += 1;
      const [left, operator, right] = [node, apply, this.expression(level + 1)];
      node = (source) => operator(left(source), right(source));
    }
    return node;
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw this.#unsupported(this.#next);
  }

  get #next(): string {
    return this.#tokens[this.#at] ?? '';
  }

  #operand(): Node {
    const word = this.#take();
    if (word === '(') {
      const inner = this.expression();
      this.#expect(')');
      return inner;
    }
    if (/^\d/.test(word)) return () => Number(word);
    const aggregate = aggregations[word];
    if (aggregate) return this.#aggregation(aggregate);
    if (word === 'absent') return this.#absent();
    const overTime = rangeFunctions[word];
    if (!overTime) return instant(this.#selector(word));
    this.#expect('(');
    const selector = this.#selector(this.#take());
    this.#expect(')');
    return (source) => overTime(source, selector).filter(selector.matches);
  }

  #aggregation(aggregate: (values: readonly number[]) => number): Node {
    let by: readonly string[] = [];
    if (this.#next === 'by') {
      this.#at += 1;
      by = this.#list('(', ')', () => this.#take());
    }
    this.#expect('(');
    const inner = this.expression();
    this.#expect(')');
    const labelsOf = ({ labels }: Sample) => Object.fromEntries(by.map((name) => [name, labels[name] ?? '']));
    return (source) => {
      const groups = Map.groupBy(vector(inner(source)), (sample) => JSON.stringify(labelsOf(sample)));
      return [...groups.values()].map((samples) => ({
        labels: labelsOf(samples[0] as Sample),
        value: aggregate(samples.map(({ value }) => value)),
      }));
    };
  }

  #absent(): Node {
    this.#expect('(');
    const inner = this.expression();
    this.#expect(')');
    return (source) => (vector(inner(source)).length === 0 ? [{ labels: {}, value: 1 }] : []);
  }

  #selector(metric: string): Selector {
    if (!/^[a-z]\w*$/.test(metric)) throw this.#unsupported(metric);
    const matchers =
      this.#next === '{' ? this.#list('{', '}', () => this.#matcher()) : ([] as readonly Predicate[]);
    const windowMs = this.#next === '[' ? (this.#list('[', ']', () => this.#duration())[0] ?? 0) : 0;
    let offsetMs = 0;
    if (this.#next === 'offset') {
      this.#at += 1;
      offsetMs = this.#duration();
    }
    this.metrics.set(metric, Math.max(this.metrics.get(metric) ?? 0, windowMs, offsetMs));
    const matches: Predicate = (sample) => matchers.every((matcher) => matcher(sample));
    return { metric, matches, windowMs, offsetMs };
  }

  #matcher(): Predicate {
    const name = this.#take();
    const operator = this.#take();
    const text = this.#take();
    if (!text.startsWith('"')) throw this.#unsupported(text);
    const wanted = text.slice(1);
    const valueOf = ({ labels }: Sample) => labels[name] ?? '';
    if (operator === '=') return (sample) => valueOf(sample) === wanted;
    if (operator === '!=') return (sample) => valueOf(sample) !== wanted;
    if (operator !== '=~') throw this.#unsupported(operator);
    const pattern = new RegExp(`^(?:${wanted})$`);
    return (sample) => pattern.test(valueOf(sample));
  }

  #duration(): number {
    const text = this.#take();
    const unit = unitMs[text.slice(-1)];
    if (unit === undefined) throw this.#unsupported(text);
    return Number.parseFloat(text) * unit;
  }

  #list<Item>(open: string, close: string, read: () => Item): readonly Item[] {
    this.#expect(open);
    const items = [read()];
    while (this.#next === ',') {
      this.#at += 1;
      items.push(read());
    }
    this.#expect(close);
    return items;
  }

  #take(): string {
    const taken = this.#next;
    this.#at += 1;
    return taken;
  }

  #expect(wanted: string): void {
    const taken = this.#take();
    if (taken !== wanted) throw this.#unsupported(taken);
  }

  #unsupported(part: string): SyntaxError {
    return new SyntaxError(`"${part}" is not supported in the alert expression ${this.#text}`);
  }
}

const instant =
  ({ metric, matches, offsetMs }: Selector): Node =>
  (source) =>
    source.at(metric, offsetMs).filter(matches);

const vector = (value: Value): readonly Sample[] => (typeof value === 'number' ? [] : value);

const keyOf = ({ labels }: Sample): string =>
  JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const keysOf = (value: Value): ReadonlySet<string> => new Set(vector(value).map(keyOf));

/** The samples of `kept` whose labels do not occur in `removed`. */
const without = (removed: Value, kept: Value): readonly Sample[] => {
  const keys = keysOf(removed);
  return vector(kept).filter((each) => !keys.has(keyOf(each)));
};

/** Samples for which it holds. Two vectors are matched by equal labels. */
function comparison(holds: (a: number, b: number) => boolean) {
  return (left: Value, right: Value): Value =>
    matched(left, right).flatMap(({ sample, other }) => (holds(sample.value, other) ? [sample] : []));
}

function arithmetic(compute: (a: number, b: number) => number) {
  return (left: Value, right: Value): Value => {
    if (typeof left === 'number' && typeof right === 'number') return compute(left, right);
    if (typeof left === 'number')
      return vector(right).map(({ labels, value }) => ({ labels, value: compute(left, value) }));
    return matched(left, right).map(({ sample, other }) => ({
      labels: sample.labels,
      value: compute(sample.value, other),
    }));
  };
}

function matched(left: Value, right: Value): readonly { readonly sample: Sample; readonly other: number }[] {
  if (typeof right === 'number') return vector(left).map((sample) => ({ sample, other: right }));
  const others = new Map(right.map((each) => [keyOf(each), each.value]));
  return vector(left).flatMap((sample) => {
    const other = others.get(keyOf(sample));
    return other === undefined ? [] : [{ sample, other }];
  });
}
