// Relative times with the absolute time on hover, updated every second.
import { Text } from '@mantine/core';
import { useEffect, useState } from 'react';

const units = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** `3 min`, `2 h 5 min`; the two largest units. */
export function durationText(ms: number): string {
  let rest = Math.max(0, Math.round(ms / 1_000));
  if (rest === 0) return '0 s';
  const parts: string[] = [];
  for (const [unit, seconds] of units) {
    const count = Math.floor(rest / seconds);
    if (count > 0) parts.push(`${count} ${unit}`);
    rest -= count * seconds;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** Now, every second. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** `2 min ago`, with the exact time on hover; a dash for never. */
export function Ago({ at }: { readonly at: string | null }) {
  const now = useNow();
  if (at === null) return <>–</>;
  return <Exact at={at}>{durationText(now - Date.parse(at))} ago</Exact>;
}

/** `2 min old`, with the exact time on hover. */
export function Age({ at }: { readonly at: string }) {
  const now = useNow();
  return <Exact at={at}>{durationText(now - Date.parse(at))} old</Exact>;
}

/** `in 40 s`, counting down; `over` once it is past, and for null. */
export function Until({ at, over }: { readonly at: string | null; readonly over: string }) {
  const now = useNow();
  const left = at === null ? 0 : Date.parse(at) - now;
  return at === null || left <= 0 ? <>{over}</> : <Exact at={at}>in {durationText(left)}</Exact>;
}

/** Duration from `from` to `to`; up to now while `to` is null; a dash while `from` is null. */
export function Took({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  const now = useNow();
  if (from === null) return <>–</>;
  return <>{shortText((to === null ? now : Date.parse(to)) - Date.parse(from))}</>;
}

/** With tenths below ten seconds. */
export const shortText = (ms: number): string =>
  ms < 10_000 ? `${(Math.max(0, ms) / 1_000).toFixed(1)} s` : durationText(ms);

function Exact({ at, children }: { readonly at: string; readonly children: React.ReactNode }) {
  return (
    <Text component="time" dateTime={at} title={new Date(at).toLocaleString()} inherit>
      {children}
    </Text>
  );
}
