// Text with marks as <mark> elements.
import { Fragment } from 'react';
import type { Range } from './marks.ts';
import { splitByMarks } from './marks.ts';

export function MarkedText({ text, marks }: { readonly text: string; readonly marks: readonly Range[] }) {
  return splitByMarks(text, marks).map((piece) =>
    piece.marks.length === 0 ? (
      <Fragment key={piece.start}>{piece.text}</Fragment>
    ) : (
      <mark key={piece.start}>{piece.text}</mark>
    ),
  );
}
