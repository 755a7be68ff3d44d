// swc's visitor, through which dependency-cruiser reads our sources, stops at `using`; this adds support for it.
import { Visitor } from '@swc/core/Visitor.js';
import type { Statement, VariableDeclarator } from '@swc/core';

interface UsingDeclaration {
  readonly type: 'UsingDeclaration';
  readonly decls: VariableDeclarator[];
}

// oxlint-disable-next-line typescript/unbound-method -- it is called on the visitor below
const visitKnown = Visitor.prototype.visitStatement;

function visitStatement(this: Visitor, statement: Statement | UsingDeclaration): Statement {
  if (statement.type !== 'UsingDeclaration') return visitKnown.call(this, statement);
  this.visitVariableDeclarators(statement.decls); // what it is set to may hold an import()
  return statement as unknown as Statement;
}

/** Call it before the first cruise. */
export function readUsingDeclarations(): void {
  Visitor.prototype.visitStatement = visitStatement;
}
