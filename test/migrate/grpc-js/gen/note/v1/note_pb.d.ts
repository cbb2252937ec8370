// package: note.v1
// file: note/v1/note.proto

/* tslint:disable */
/* eslint-disable */

import * as jspb from "google-protobuf";

export class Note extends jspb.Message { 

    hasText(): boolean;
    clearText(): void;
    getText(): string;
    setText(value: string): Note;

    hasImageData(): boolean;
    clearImageData(): void;
    getImageData(): Uint8Array | string;
    getImageData_asU8(): Uint8Array;
    getImageData_asB64(): string;
    setImageData(value: Uint8Array | string): Note;
    static deserializeBinary(bytes: Uint8Array): Note;
    serializeBinary(): Uint8Array;
    static deserializeBinaryFromReader(message: Note, reader: jspb.BinaryReader): Note;

    hasParent(): boolean;
    clearParent(): void;
    getParent(): Note | undefined;
    setParent(value?: Note): Note;

    getContentCase(): Note.ContentCase;
}

export namespace Note {
    export type AsObject = {
        text: string,
        imageData: Uint8Array | string,
        parent?: Note.AsObject,
    }

    export enum ContentCase {
        CONTENT_NOT_SET = 0,
        TEXT = 1,
        IMAGE_DATA = 2,
        PARENT = 3,
    }
}
