// Text of a document with its marks: linked passage, evidence of events, names.
import { Anchor, Box, Button, Group, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { numberText } from '../../../components/format.ts';
import type { Piece, Range } from '../marks.ts';
import { splitByMarks } from '../marks.ts';
import { useAddress } from '../space-ref.ts';

export interface DocumentMark extends Range {
  /** `target`: the passage that was linked to. */
  readonly kind: 'target' | 'evidence' | 'name';
  /** Id of the event or entity. */
  readonly id: string;
  readonly label: string;
}

/** Characters rendered at a time: five million would take a browser minutes. */
const windowChars = 60_000;

export function DocumentView({
  text,
  marks,
}: {
  readonly text: string;
  readonly marks: readonly DocumentMark[];
}) {
  const [first] = marks.filter(({ kind }) => kind === 'target');
  const [from, setFrom] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const at = first?.start;
  useEffect(() => {
    if (at !== undefined) setFrom(Math.floor(at / windowChars) * windowChars);
  }, [at]);
  useEffect(() => {
    const element = box.current?.querySelector<HTMLElement>('[data-target]');
    // Scrolls the document, not the page.
    if (box.current && element)
      box.current.scrollTop = Math.max(0, element.offsetTop - box.current.clientHeight / 3);
  }, [at, from]);
  const to = Math.min(text.length, from + windowChars);
  return (
    <Paper withBorder>
      <Box
        ref={box}
        component="section"
        aria-label="Text of the document"
        tabIndex={0}
        p="md"
        pos="relative"
        mah="75vh"
        style={{ overflowY: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', lineHeight: 1.7 }}
        fz="sm"
      >
        {splitByMarks(text, marks, from, to).map((piece) => (
          <PieceView key={piece.start} piece={piece} target={at} />
        ))}
      </Box>
      {text.length > windowChars ? <Windows from={from} to={to} total={text.length} onGo={setFrom} /> : null}
    </Paper>
  );
}

function PieceView({
  piece,
  target,
}: {
  readonly piece: Piece<DocumentMark>;
  readonly target: number | undefined;
}) {
  const address = useAddress();
  const of = (kind: DocumentMark['kind']) => piece.marks.find((mark) => mark.kind === kind);
  const [name, evidence, wanted] = [of('name'), of('evidence'), of('target')];
  let shown: ReactNode = piece.text;
  if (name)
    shown = (
      <Anchor
        component={Link}
        href={address(`/entities/${name.id}`)}
        title={name.label}
        inherit
        c="inherit"
        underline="always"
        style={{ textDecorationStyle: 'dotted' }}
      >
        {shown}
      </Anchor>
    );
  if (wanted)
    return (
      <mark
        className="document-target"
        title={wanted.label}
        data-target={piece.start === target ? '' : undefined}
      >
        {shown}
      </mark>
    );
  return evidence ? <mark title={evidence.label}>{shown}</mark> : shown;
}

function Windows({
  from,
  to,
  total,
  onGo,
}: {
  readonly from: number;
  readonly to: number;
  readonly total: number;
  readonly onGo: (from: number) => void;
}) {
  return (
    <Group justify="space-between" p="xs" gap="xs">
      <Text size="xs" c="dimmed">
        Characters {numberText(from)} to {numberText(to)} of {numberText(total)}
      </Text>
      <Group gap="xs">
        <Button
          size="xs"
          variant="default"
          disabled={from === 0}
          onClick={() => onGo(Math.max(0, from - windowChars))}
        >
          Show previous
        </Button>
        <Button size="xs" variant="default" disabled={to === total} onClick={() => onGo(from + windowChars)}>
          Show next
        </Button>
      </Group>
    </Group>
  );
}
