// Relative times with the absolute time on hover, updated every second.
import { Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { formatDuration, formatWholeSeconds } from './format.ts';

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
  return <Exact at={at}>{formatWholeSeconds(now - Date.parse(at), 1)} ago</Exact>;
}

/** `in 40 s`, counting down; `over` once it is past, and for null. */
export function Until({ at, over }: { readonly at: string | null; readonly over: string }) {
  const now = useNow();
  const left = at === null ? 0 : Date.parse(at) - now;
  return at === null || left <= 0 ? <>{over}</> : <Exact at={at}>in {formatWholeSeconds(left)}</Exact>;
}

/** Duration from `from` to `to`; up to now while `to` is null; a dash while `from` is null. */
export function Took({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  const now = useNow();
  if (from === null) return <>–</>;
  const text = to === null ? formatWholeSeconds : formatDuration;
  return <>{text((to === null ? now : Date.parse(to)) - Date.parse(from))}</>;
}

/** `2026-11-20`: a date that a document states, which has no relative form. */
export const dateText = (at: string): string => at.slice(0, 10);

function Exact({ at, children }: { readonly at: string; readonly children: React.ReactNode }) {
  return (
    <Text
      component="time"
      dateTime={at}
      title={new Date(at).toLocaleString('en-US', { hourCycle: 'h23' })}
      inherit
    >
      {children}
    </Text>
  );
}
