// A document's text with its marks at their exact places: what was asked for, evidence of events, names.
import { Anchor, Box, Button, Group, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { Piece, Range } from '../marks.ts';
import { piecesOf } from '../marks.ts';
import { useAddress } from '../place.ts';

export interface DocumentMark extends Range {
  /** `asked`: what one came for. */
  readonly kind: 'asked' | 'evidence' | 'name';
  /** Of the event or the entity. */
  readonly id: string;
  readonly label: string;
}

/** Shown at once: five million characters would take a browser minutes. */
const windowChars = 60_000;

export function DocumentView({
  text,
  marks,
}: {
  readonly text: string;
  readonly marks: readonly DocumentMark[];
}) {
  const [first] = marks.filter(({ kind }) => kind === 'asked');
  const [from, setFrom] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const at = first?.start;
  useEffect(() => {
    if (at !== undefined) setFrom(Math.floor(at / windowChars) * windowChars);
  }, [at]);
  useEffect(() => {
    const target = box.current?.querySelector<HTMLElement>('[data-asked]');
    // Only the document scrolls: the page stays where it is.
    if (box.current && target)
      box.current.scrollTop = Math.max(0, target.offsetTop - box.current.clientHeight / 3);
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
        {piecesOf(text, marks, from, to).map((piece) => (
          <PieceView key={piece.start} piece={piece} asked={at} />
        ))}
      </Box>
      {text.length > windowChars ? <Windows from={from} to={to} total={text.length} onGo={setFrom} /> : null}
    </Paper>
  );
}

function PieceView({
  piece,
  asked,
}: {
  readonly piece: Piece<DocumentMark>;
  readonly asked: number | undefined;
}) {
  const address = useAddress();
  const of = (kind: DocumentMark['kind']) => piece.marks.find((mark) => mark.kind === kind);
  const [name, evidence, wanted] = [of('name'), of('evidence'), of('asked')];
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
        className="document-asked"
        title={wanted.label}
        data-asked={piece.start === asked ? '' : undefined}
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
        Characters {from.toLocaleString('en')} to {to.toLocaleString('en')} of {total.toLocaleString('en')}
      </Text>
      <Group gap="xs">
        <Button
          size="xs"
          variant="default"
          disabled={from === 0}
          onClick={() => onGo(Math.max(0, from - windowChars))}
        >
          Earlier
        </Button>
        <Button size="xs" variant="default" disabled={to === total} onClick={() => onGo(from + windowChars)}>
          Later
        </Button>
      </Group>
    </Group>
  );
}
