import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogLevel } from '../../core/index.ts';
import { CoreError, event, EventBus, Redactor } from '../../core/index.ts';
import type { LoggerOptions } from './logger.ts';
import { createLogger, logEvents } from './logger.ts';

function setUp(options: Partial<LoggerOptions> = {}) {
  const lines: string[] = [];
  const redactor = new Redactor();
  redactor.add('hunter22');
  const log = createLogger({
    level: 'info',
    format: 'json',
    redactor,
    destination: { write: (line) => lines.push(line) },
    ...options,
  });
  const parsed = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, lines, parsed };
}

describe('createLogger, as JSON', () => {
  it('writes one line with time, level, message and fields', () => {
    const { log, lines, parsed } = setUp();
    log.warn('something fell back', { id: 'a', count: 2 });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{.*\}\n$/);
    expect(parsed()[0]).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
      level: 'warn',
      msg: 'something fell back',
      id: 'a',
      count: 2,
    });
  });

  it('adds the current context to each line', () => {
    let span: { readonly trace_id: string } | null = { trace_id: 'abc' };
    const { log, parsed } = setUp({ context: () => span });
    log.info('inside', { id: 'a' });
    span = null;
    log.info('outside');
    expect(parsed()[0]).toMatchObject({ msg: 'inside', id: 'a', trace_id: 'abc' });
    expect(parsed()[1]).not.toHaveProperty('trace_id');
  });

  it.each([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['error', ['error']],
    ['silent', []],
  ] as const)('at level %s writes %j', (level, written) => {
    const { log, parsed } = setUp({ level });
    for (const each of ['debug', 'info', 'warn', 'error'] as const) log[each]('x');
    expect(parsed().map((line) => line['level'])).toEqual(written);
  });

  it('writes errors as class, code and message; stacks only at debug level', () => {
    const error = new CoreError('NOT_FOUND', 'Not there.', { cause: new TypeError('below') });
    const plain = { class: 'CoreError', code: 'NOT_FOUND', message: 'Not there.' };
    for (const key of ['error', 'err', 'anything']) {
      const { log, parsed } = setUp();
      log.error('failed', { [key]: error });
      expect(parsed()[0]?.[key]).toEqual({ ...plain, cause: { class: 'TypeError', message: 'below' } });
    }
    const { log, parsed } = setUp({ level: 'debug' });
    log.error('failed', { error });
    expect(parsed()[0]?.['error']).toMatchObject({
      ...plain,
      stack: expect.stringContaining('logger.test.ts') as string,
    });
  });

  it('keeps its own fields when others have their names', () => {
    const { log, lines, parsed } = setUp();
    log.info('mine', { msg: 'theirs', level: 'fatal', time: 0, event: 'x' });
    expect(parsed()[0]).toMatchObject({ msg: 'mine', level: 'info', msg_: 'theirs', level_: 'fatal' });
    expect(lines[0]?.match(/"level":/g)).toHaveLength(1);
  });

  it('puts the fields of `with` on every line', () => {
    const { log, parsed } = setUp();
    log.with({ requestId: 'r1', token: 'abc' }).with({ route: '/x' }).info('answered', { status: 200 });
    expect(parsed()[0]).toMatchObject({ requestId: 'r1', token: '[redacted]', route: '/x', status: 200 });
  });

  it('keeps secrets out of messages, fields, keys, children and errors', () => {
    const { log, lines } = setUp({ level: 'debug' });
    const error = new Error('a hunter22', { cause: new Error('b hunter22') });
    log.with({ hunter22: 'hunter22' }).debug('said hunter22 %s %o %d', {
      hunter22: { deep: ['hunter22'] },
      error,
      url: new URL('http://user:hunter22@host/?x=hunter22'),
      password: 'something "quoted"',
      toJSON: 'hunter22',
    });
    expect(lines.join('')).not.toMatch(/hunter22|quoted/);
    expect(lines.join('')).toContain('%s %o %d');
  });

  it('writes lines that can be parsed, whatever looks like a secret in them', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'token: ',
        'cookie:',
        'secret=',
        'Authorization: ',
        `password='x`,
        'the password: "',
        'Bearer ',
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(piece, piece, piece, (message, before, after) => {
        const { log, parsed } = setUp();
        log.info(message, { before, after: { list: [after, 1] }, last: 1 });
        expect(parsed()).toEqual([expect.objectContaining({ last: 1, level: 'info' })]);
      }),
    );
  });

  it('survives fields that cannot be written', () => {
    const { log, parsed } = setUp();
    const circle: Record<string, unknown> = { big: 1n };
    circle['self'] = circle;
    log.info('odd', { circle });
    expect(parsed()[0]).toMatchObject({ circle: { big: '1', self: '[circular]' } });
  });

  it('does not throw when the line cannot be written', () => {
    const destination = {
      write: () => {
        throw new Error('EPIPE');
      },
    };
    const { log } = setUp({ destination });
    expect(() => log.error('lost')).not.toThrow();
  });
});

describe('createLogger, for people', () => {
  it('writes time, level, message and fields in one readable line', () => {
    const { log, lines } = setUp({ format: 'pretty' });
    log.warn('fell back', { id: 'a', text: 'two words', list: [1] });
    expect(lines[0]).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARN {2}fell back id=a text="two words" list=\[1\]\n$/);
  });

  it('colors the level only if isColored', () => {
    const { log, lines } = setUp({ format: 'pretty', isColored: true });
    log.error('x');
    expect(lines[0]).toContain('\u001b[31mERROR\u001b[0m');
  });

  it('escapes line breaks and terminal control sequences', () => {
    const { log, lines } = setUp({ format: 'pretty' });
    log.info('a\nb\u001b[2J', { key: 'c\nd', '\u001b': 1 });
    expect(lines).toHaveLength(1);
    // oxlint-disable-next-line no-control-regex -- control characters are what this is about
    expect(lines[0]?.slice(0, -1)).not.toMatch(/[\u0000-\u001f]/);
  });

  it('keeps secrets out, also when masking broke the JSON of the line', () => {
    const { log, lines } = setUp({ format: 'pretty' });
    log.info('said hunter22', { note: 'hunter22' });
    expect(lines[0]).not.toContain('hunter22');
    const redactor = new Redactor();
    redactor.add('"msg":"');
    const broken = setUp({ format: 'pretty', redactor });
    broken.log.info('still here');
    expect(broken.lines[0]).toContain('still here');
  });
});

describe('logEvents', () => {
  const specs = {
    'demo:done': event<{ id: string; text: string }>({ level: 'info', message: 'did it', content: ['text'] }),
    'demo:failed': event<{ id: string }>({ level: 'error', message: 'failed' }),
  };

  function listening(level: LogLevel) {
    const { log, parsed } = setUp({ level });
    const bus = new EventBus(specs);
    const stop = logEvents(bus, log);
    return { bus, parsed, stop };
  }

  it('writes a line per event, at its level, without content', () => {
    const { bus, parsed, stop } = listening('info');
    bus.emit('demo:done', { id: 'a', text: 'private' });
    bus.emit('demo:failed', { id: 'b' });
    stop();
    bus.emit('demo:failed', { id: 'c' });
    expect(parsed()).toMatchObject([
      { level: 'info', msg: 'did it', event: 'demo:done', id: 'a' },
      { level: 'error', msg: 'failed', event: 'demo:failed', id: 'b' },
    ]);
    expect(JSON.stringify(parsed())).not.toContain('private');
  });

  it('shows content at debug level', () => {
    const { bus, parsed } = listening('debug');
    bus.emit('demo:done', { id: 'a', text: 'private' });
    expect(parsed()).toMatchObject([{ text: 'private' }]);
  });
});
