// Times as people say them, ticking while they are looked at.
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

/** `in 40 s`, counting down; `over` once it is past, and for null. */
export function Until({ at, over }: { readonly at: string | null; readonly over: string }) {
  const now = useNow();
  const left = at === null ? 0 : Date.parse(at) - now;
  return at === null || left <= 0 ? <>{over}</> : <Exact at={at}>in {durationText(left)}</Exact>;
}

function Exact({ at, children }: { readonly at: string; readonly children: React.ReactNode }) {
  return (
    <Text component="time" dateTime={at} title={new Date(at).toLocaleString()} inherit>
      {children}
    </Text>
  );
}
