import Type, { type TSchema } from "typebox";

export const describe = (description: string) => ({ description });

export const nullable = <S extends TSchema>(schema: S, description: string) => Type.Union([schema, Type.Null()], { description });
