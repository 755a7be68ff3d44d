import { describe, expect, it } from 'vitest';
import { nextVersion, releaseChangelog } from './release.ts';

describe('nextVersion', () => {
  it.each([
    ['patch', '0.2.1'],
    ['minor', '0.3.0'],
    ['major', '1.0.0'],
  ] as const)('raises the %s part and resets the lower ones', (kind, expected) => {
    expect(nextVersion('0.2.0', true, kind)).toBe(expected);
  });

  it('is the same version when that was never released', () => {
    expect(nextVersion('0.2.0', false, 'minor')).toBe('0.2.0');
  });
});

describe('releaseChangelog', () => {
  it('moves the entries of Unreleased under the new version', () => {
    const before = '# Changelog\n\n## Unreleased\n\n- Fixed a bug.\n\n## 0.2.0 (2026-11-17)\n\n- First.\n';
    expect(releaseChangelog(before, '0.2.1', '2026-12-01')).toBe(
      '# Changelog\n\n## Unreleased\n\n## 0.2.1 (2026-12-01)\n\n- Fixed a bug.\n\n## 0.2.0 (2026-11-17)\n\n- First.\n',
    );
  });

  it('fails without entries', () => {
    const empty = '# Changelog\n\n## Unreleased\n\n## 0.2.0 (2026-11-17)\n\n- First.\n';
    expect(() => releaseChangelog(empty, '0.2.1', '2026-12-01')).toThrow('no entries');
  });
});
