import { describe, expect, it } from 'vitest';
import { systemIds } from '../../core/index.ts';
import { estimateReading } from './model-reader.ts';
import { createReaders } from './rules-reader.ts';

const modelOf = (isConfigured: () => boolean) => ({
  isConfigured,
  complete: () => Promise.reject(new Error('not asked')),
});

describe('createReaders', () => {
  it('has a model reader only while a model is configured and wanted', () => {
    let isConfigured = false;
    const model = modelOf(() => isConfigured);
    const wanted = createReaders({ model, ids: systemIds, readWithModel: true });
    const unwanted = createReaders({ model, ids: systemIds, readWithModel: false });
    expect(wanted.model()).toBeNull();
    isConfigured = true;
    expect(wanted.model()?.method).toBe('model');
    expect(unwanted.model()).toBeNull();
    expect(unwanted.rules.method).toBe('rules');
  });
});

describe('estimateReading', () => {
  it('counts a call for each chunk, with the tokens of what is asked around it', () => {
    const none = estimateReading([]);
    expect(none).toEqual({ calls: 0, promptTokens: 0, answerTokens: 0 });
    const two = estimateReading([900, 100]);
    expect(two.calls).toBe(2);
    expect(two.promptTokens).toBeGreaterThan(2_000);
    expect(two.answerTokens).toBeGreaterThan(0);
  });
});
